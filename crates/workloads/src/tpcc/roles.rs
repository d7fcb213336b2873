//! What statements are for.

use plimsoll_model::StatementKind;

/// Lines of an order, at most (clause 2.4.1.3).
pub const LINES_MAX: usize = 15;
/// Districts of a warehouse (clause 1.2.1).
pub const DISTRICTS: usize = 10;

macro_rules! roles {
    ($($role:ident $name:literal $kind:ident,)+) => {
        /// What a statement is for. Roles of a table's single rows are named in the singular, those of several in the
        /// plural.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Role { $($role),+ }

        impl Role {
            pub const ALL: &'static [Role] = &[$(Role::$role),+];

            /// Its name in results.
            pub const fn name(self) -> &'static str {
                match self { $(Role::$role => $name),+ }
            }

            pub const fn kind(self) -> StatementKind {
                match self { $(Role::$role => StatementKind::$kind),+ }
            }
        }
    };
}

roles! {
    Begin "begin" Begin,
    Commit "commit" Commit,
    // New-order.
    Rates "rates" Select,
    NextOrder "next_order" Select,
    AdvanceOrder "advance_order" Update,
    InsertOrder "insert_order" Insert,
    InsertNewOrder "insert_new_order" Insert,
    Item "item" Select,
    Stock "stock" Select,
    UpdateStock "update_stock" Update,
    InsertLine "insert_line" Insert,
    Items "items" Select,
    Stocks "stocks" Select,
    UpdateStocks "update_stocks" Update,
    InsertLines "insert_lines" Insert,
    // Payment.
    PayWarehouse "pay_warehouse" Update,
    Warehouse "warehouse" Select,
    PayDistrict "pay_district" Update,
    District "district" Select,
    Addresses "addresses" Select,
    CountNamesakes "count_namesakes" Select,
    Namesakes "namesakes" Select,
    CustomersOfName "customers_of_name" Select,
    Customer "customer" Select,
    CustomerData "customer_data" Select,
    PayCustomer "pay_customer" Update,
    PayBadCustomer "pay_bad_customer" Update,
    InsertHistory "insert_history" Insert,
    // Order-status.
    BalancesOfName "balances_of_name" Select,
    Balance "balance" Select,
    LastOrder "last_order" Select,
    LinesOfOrder "lines_of_order" Select,
    // Delivery.
    OldestOrder "oldest_order" Select,
    DeleteNewOrder "delete_new_order" Delete,
    CustomerOfOrder "customer_of_order" Select,
    CarryOrder "carry_order" Update,
    DeliverLines "deliver_lines" Update,
    AmountOfOrder "amount_of_order" Select,
    CreditCustomer "credit_customer" Update,
    OldestOrders "oldest_orders" Select,
    DeleteNewOrders "delete_new_orders" Delete,
    CustomersOfOrders "customers_of_orders" Select,
    CarryOrders "carry_orders" Update,
    DeliverLinesOfOrders "deliver_lines_of_orders" Update,
    AmountsOfOrders "amounts_of_orders" Select,
    CreditCustomers "credit_customers" Update,
    // Stock-level.
    OrdersSoFar "orders_so_far" Select,
    LowStock "low_stock" Select,
    // Procedures.
    CallNewOrder "call_new_order" Call,
    CallPayment "call_payment" Call,
    CallOrderStatus "call_order_status" Call,
    CallDelivery "call_delivery" Call,
    CallStockLevel "call_stock_level" Call,
    // Purge.
    OldestUndelivered "oldest_undelivered" Select,
    DeliveredOrder "delivered_order" Select,
    PurgeLines "purge_lines" Delete,
    PurgeOrder "purge_order" Delete,
    PurgeHistory "purge_history" Delete,
}

impl Role {
    pub const COUNT: usize = Role::ALL.len();

    pub const fn names_a_table(self) -> bool {
        !matches!(self, Role::Begin | Role::Commit)
    }

    /// How many texts there are for one table set.
    pub const fn variants(self) -> usize {
        match self {
            // The column of stock that a district prints.
            Role::Stock => DISTRICTS,
            // Rows.
            Role::Items | Role::Stocks | Role::UpdateStocks | Role::InsertLines => LINES_MAX,
            _ => 1,
        }
    }

    /// One of several texts, from 1: for so many rows, or for that district.
    pub const fn variant(self, variant: usize) -> Pick {
        Pick { role: self, variant }
    }
}

/// A role in one of its variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pick {
    pub role: Role,
    pub variant: usize,
}

impl From<Role> for Pick {
    fn from(role: Role) -> Pick {
        role.variant(1)
    }
}
